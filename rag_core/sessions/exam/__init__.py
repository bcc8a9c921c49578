"""An exam: which strategy works on an owner's documents, by questions, and by people who tick which passages answer."""

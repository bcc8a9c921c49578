"""What a question needs before it is answered: urgent signs named, private data found."""

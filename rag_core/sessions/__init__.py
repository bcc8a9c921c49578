"""Questions kept and found again; saved sessions, run again or exported."""

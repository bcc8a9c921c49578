"""What every screen and every export says about itself."""

NOTICE = "Demonstration, not medical advice."

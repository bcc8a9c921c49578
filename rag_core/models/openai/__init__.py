"""OpenAI's protocol: request tracking, timeouts and errors."""

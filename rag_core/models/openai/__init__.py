"""OpenAI's protocol: what happens between this program and a server, and what its errors mean."""

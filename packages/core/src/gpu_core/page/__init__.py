"""What a program shows of itself to a person with a browser: plain HTML and inline SVG, without scripts."""

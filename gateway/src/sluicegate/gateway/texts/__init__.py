"""Free text in English and Chinese: the facts inside it, and how alike two texts are. Pure; work grows with length only."""

"""What a notebook shows: cards in HTML, pictures, tables. It knows no statistics."""

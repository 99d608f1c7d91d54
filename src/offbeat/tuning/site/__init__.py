"""A centre's knowledge base: measurements of many programs and studies, and the tuning file made of them."""

"""`contract test`: recorded and made inputs at running components; both sides are held to the contract."""

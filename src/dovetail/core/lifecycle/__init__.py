"""What becomes of an order: from a NodeClaim to a Node that works, and to nothing left behind."""

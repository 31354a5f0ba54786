"""What can be bought: specs that hardly change, offerings that always do, and one cache that joins them."""

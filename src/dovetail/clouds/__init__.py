"""What each cloud sells, and one day how to buy it: one package per cloud, none of which knows another."""

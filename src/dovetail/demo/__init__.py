"""`dovetail demo`: the whole job in one terminal. No cluster, cloud account or Go is needed, and it takes seconds."""

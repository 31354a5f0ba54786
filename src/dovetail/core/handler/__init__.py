"""What a node does when its cloud is about to take the machine away: notices, marks and a drain that fits the time.

Nothing here asks a metadata server or writes an object; `dovetail.handler` does both with what is decided here.
"""

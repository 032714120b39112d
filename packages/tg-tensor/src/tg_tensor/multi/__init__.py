"""Values in shards on several devices: sharding, rules, collectives."""

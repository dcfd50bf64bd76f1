// fine
// café
module {}

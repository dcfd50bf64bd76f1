// The header in C++, with what a plugin defines.
#define PIPER_PLUGIN
#include "piper.h"

#include <cstdio>

static PiperStatus fill(PiperRegistrar *registrar) {
  PiperPassInfo info{};
  info.size = sizeof info;
  info.name = piper_str("nothing");
  return piper_registrar_add_pass(registrar, &info);
}

PIPER_DEFINE_PLUGIN("cpp", "1.0", fill)

int main() {
  const PiperPlugin *plugin = piper_plugin();
  if (plugin->magic != PIPER_PLUGIN_MAGIC || !piper_str_is(plugin->name, "cpp")) return 1;
#undef piper_abi_version
  std::printf("interface %u\n", static_cast<unsigned>(piper_abi_version()));
  return 0;
}

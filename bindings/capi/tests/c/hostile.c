// A plugin that does what it should not: which, says VARIANT. Nothing of Piper's conveniences is used, so that all can be wrong.
#include "piper.h"

#ifndef VARIANT
#define VARIANT 0
#endif

static const PiperApi *api;
static PiperModule *kept_module;
static PiperOp kept_op;

static PiperStatus no_reason(void *user, PiperPass *pass) {
  (void)user;
  (void)pass;
  return 77;
}

static PiperStatus uses_erased(void *user, PiperPass *pass) {
  (void)user;
  PiperModule *module = api->pass_module(pass);
  const PiperOp root = api->pass_op(pass);
  const PiperOp first = api->walk_next(module, root, root);
  api->op_erase(module, first);
  api->op_name(module, first);
  return PIPER_OK;
}

static PiperStatus writes(void *user, PiperPass *pass) {
  (void)user;
  PiperModule *module = api->pass_module(pass);
  return api->op_set_attr(module, api->pass_op(pass), piper_str("t.x"), api->attr_unit(module));
}

static PiperStatus breaks(void *user, PiperPass *pass) {
  (void)user;
  PiperModule *module = api->pass_module(pass);
  const PiperOp root = api->pass_op(pass);
  for (PiperOp op = root; op.bits != 0; op = api->walk_next(module, root, op)) {
    if (!piper_str_is(api->op_name(module, op), "nn.gelu")) continue;
    return api->value_set_type(module, api->op_result(module, op, 0), api->type_integer(module, 7));
  }
  return PIPER_OK;
}

// The second run uses what the first one should have left alone when it ended.
static PiperStatus keeps(void *user, PiperPass *pass) {
  (void)user;
  if (kept_module != 0) {
    api->op_name(kept_module, kept_op);
    return PIPER_OK;
  }
  kept_module = api->pass_module(pass);
  kept_op = api->pass_op(pass);
  return PIPER_OK;
}

static PiperStatus asks(void *user, PiperPass *pass) {
  (void)user;
  api->pass_option(pass, piper_str("never-declared"));
  return PIPER_OK;
}

static PiperStatus add(PiperRegistrar *registrar, const char *name, PiperPassRun run, uint32_t flags) {
  PiperPassInfo info = {0};
  info.size = VARIANT == 10 ? 1 : sizeof info;
  info.name = piper_str(name);
  info.run = run;
  info.flags = flags;
  return api->registrar_add_pass(registrar, &info);
}

static PiperStatus add_where(PiperRegistrar *registrar, const char *name, const char *anchor, const PiperStr *after) {
  PiperPassInfo info = {0};
  info.size = sizeof info;
  info.name = piper_str(name);
  info.run = keeps;
  info.anchor = piper_str(anchor);
  info.after = after;
  info.num_after = after != NULL;
  return api->registrar_add_pass(registrar, &info);
}

static PiperStatus fill(const PiperApi *given, PiperRegistrar *registrar) {
  api = given;
  add(registrar, "no-reason", no_reason, 0);
  add(registrar, "uses-erased", uses_erased, 0);
  add(registrar, "writes", writes, PIPER_PASS_ONLY_READS);
  add(registrar, "breaks", breaks, PIPER_PASS_CONCURRENT);
  add(registrar, "keeps", keeps, 0);
  add(registrar, "asks", asks, 0);
  if (VARIANT == 7) return 5;
  if (VARIANT == 8) add(registrar, "keeps", keeps, 0);
  if (VARIANT == 9) add(registrar, "no name", keeps, 0);
  if (VARIANT == 11) add(registrar, "runs-nothing", NULL, 0);
  if (VARIANT == 12) add(registrar, "from-later", keeps, 1u << 31);
  if (VARIANT == 14) add_where(registrar, "nowhere", "module", NULL);
  static const PiperStr after[] = {PIPER_LITERAL("kse")};
  if (VARIANT == 15) add_where(registrar, "after-nothing", NULL, after);
  if (VARIANT == 16) add(registrar, "help", keeps, 0);
  if (VARIANT == 17) {
    static const char text[] = "irdl.dialect @hostile {\n  irdl.operation @op {\n  }\n}\n";
    api->registrar_add_dialects(registrar, piper_str("hostile.irdl"), piper_str(text));
    add(registrar, "cse", keeps, 0);
  }
  if (VARIANT == 19)
    api->registrar_add_dialects(registrar, piper_str("hostile.irdl"), piper_str("irdl.dialect @nn {\n}\n"));
  return PIPER_OK;
}

#if VARIANT == 13
#define piper_plugin not_a_plugin
#endif

#if VARIANT == 18
// What is exported under the name is no function.
extern const long piper_plugin;
const long piper_plugin = 42;
#else
const PiperPlugin *piper_plugin(void);
const PiperPlugin *piper_plugin(void) {
  static const PiperPlugin plugin = {
      VARIANT == 1 ? 0x1234 : PIPER_PLUGIN_MAGIC,
      VARIANT == 2 ? PIPER_ABI_VERSION - 1 : VARIANT == 3 ? PIPER_ABI_VERSION + 1 : PIPER_ABI_VERSION,
      0,
      VARIANT == 4 ? 8 : sizeof(PiperPlugin),
      VARIANT == 5 ? sizeof(PiperApi) + 2 * sizeof(void *) : PIPER_API_NEEDS(registrar_add_pass),
      PIPER_LITERAL("hostile"),
      PIPER_LITERAL("1.0"),
      fill,
  };
  return VARIANT == 6 ? (const PiperPlugin *)0 : &plugin;
}
#endif

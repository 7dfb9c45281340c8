import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"config","description":"","frontmatter":{},"headers":[],"relativePath":"examples/config.md","filePath":"examples/config/README.md"}');
const _sfc_main = { name: "examples/config.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="config" tabindex="-1">config <a class="header-anchor" href="#config" aria-label="Permalink to &quot;config&quot;">​</a></h1><p>Two instances of the module, with their options from the environment. Guide: <a href="/nestjs-distributed-lock/guides/configuration">Configuration</a>.</p><div class="language-sh vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">sh</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">BILLING_REDIS_URL</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">=</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;">redis://localhost:6379</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> npm</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> run</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> example</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> config</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> POST</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/invoices/1/reminders</span><span style="--shiki-light:#66707B;--shiki-dark:#BDC4CC;">   # locked by the instance without a name</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> POST</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/invoices/1/payments</span><span style="--shiki-light:#66707B;--shiki-dark:#BDC4CC;">    # locked by the instance &quot;billing&quot;</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("examples/config/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};

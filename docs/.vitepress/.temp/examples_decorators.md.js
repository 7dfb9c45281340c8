import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"decorators","description":"","frontmatter":{},"headers":[],"relativePath":"examples/decorators.md","filePath":"examples/decorators/README.md"}');
const _sfc_main = { name: "examples/decorators.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="decorators" tabindex="-1">decorators <a class="header-anchor" href="#decorators" aria-label="Permalink to &quot;decorators&quot;">​</a></h1><p>Custom decorators built with <code>@Locked</code>, and keys that contain the tenant or the user of a request. Guides: <a href="/nestjs-distributed-lock/guides/configuration#custom-decorators">Custom decorators</a>, <a href="/nestjs-distributed-lock/guides/configuration#tenants-and-cls">tenants and CLS</a>.</p><div class="language-sh vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">sh</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">npm</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> run</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> example</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> decorators</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> 2</span><span style="--shiki-light:#66707B;--shiki-dark:#BDC4CC;">   # the clean-up job runs in one of the two processes each time</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> POST</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/reports/sales</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -H</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;x-tenant: blue&#39;</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> POST</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/reports/sales/approvals</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -H</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;x-user: ada&#39;</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/reports/clean-ups</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3001/reports/clean-ups</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("examples/decorators/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};

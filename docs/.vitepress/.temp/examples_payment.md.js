import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"payment","description":"","frontmatter":{},"headers":[],"relativePath":"examples/payment.md","filePath":"examples/payment/README.md"}');
const _sfc_main = { name: "examples/payment.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="payment" tabindex="-1">payment <a class="header-anchor" href="#payment" aria-label="Permalink to &quot;payment&quot;">​</a></h1><p>Two requests with the same <code>Idempotency-Key</code> charge once and get the same answer, even if a process is killed in between. Guide: <a href="/nestjs-distributed-lock/guides/transactions#idempotent-payments">Idempotent payments</a>.</p><div class="language-sh vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">sh</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">npm</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> run</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> example</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> payment</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> 2</span><span style="--shiki-light:#66707B;--shiki-dark:#BDC4CC;">   # with a private PostgreSQL, or the one of DATABASE_URL</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">for</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> port </span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">in</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> 3000</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> 3001</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">; </span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">do</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">  curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> POST</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">$port</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;">/payments</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -H</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;content-type: application/json&#39;</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -H</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;idempotency-key: 42&#39;</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;"> \\</span></span>
<span class="line"><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;">    -d</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;{&quot;account&quot;:&quot;ann&quot;,&quot;amount&quot;:100}&#39;</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> &amp;</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">done</span></span>
<span class="line"><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;">wait</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/charges</span><span style="--shiki-light:#66707B;--shiki-dark:#BDC4CC;">   # one charge, one call</span></span></code></pre></div><p>The first process also simulates the payment provider. If it is not on port 3000, set <code>PROVIDER_URL</code>.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("examples/payment/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};

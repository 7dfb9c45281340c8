import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"graphql","description":"","frontmatter":{},"headers":[],"relativePath":"examples/graphql.md","filePath":"examples/graphql/README.md"}');
const _sfc_main = { name: "examples/graphql.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="graphql" tabindex="-1">graphql <a class="header-anchor" href="#graphql" aria-label="Permalink to &quot;graphql&quot;">​</a></h1><p>A mutation under <code>@Locked</code>, and what GraphQL clients receive when the lock is busy. Guide: <a href="/nestjs-distributed-lock/guides/transports#graphql">GraphQL</a>.</p><div class="language-sh vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">sh</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">npm</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> run</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> example</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> graphql</span></span>
<span class="line"><span style="--shiki-light:#66707B;--shiki-dark:#BDC4CC;"># The first booking takes 2 s. A second one at the same time waits 500 ms, and receives the error LOCK_TIMEOUT.</span></span>
<span class="line"><span style="--shiki-light:#622CBC;--shiki-dark:#DBB7FF;">book</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">() { </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -s</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/graphql</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -H</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;content-type: application/json&#39;</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;"> \\</span></span>
<span class="line"><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;">  -d</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &quot;{</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">\\&quot;</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;">query</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">\\&quot;</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;">:</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">\\&quot;</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;">mutation { bookSeat(seat: 7, guest: </span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">\\\\\\&quot;</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;">$1</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">\\\\\\&quot;</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;">) { seat guest } }</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">\\&quot;</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;">}&quot;</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">; }</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">book</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> Ada</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> &amp; </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">sleep</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> 1</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">; </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">book</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> Bo</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("examples/graphql/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};

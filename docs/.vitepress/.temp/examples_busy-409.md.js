import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"busy-409","description":"","frontmatter":{},"headers":[],"relativePath":"examples/busy-409.md","filePath":"examples/busy-409/README.md"}');
const _sfc_main = { name: "examples/busy-409.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="busy-409" tabindex="-1">busy-409 <a class="header-anchor" href="#busy-409" aria-label="Permalink to &quot;busy-409&quot;">​</a></h1><p>A request that does not get its lock is answered 409 with the application&#39;s own body. Guide: <a href="/nestjs-distributed-lock/guides/handlers-and-streams#when-the-lock-is-busy">HTTP status and error responses</a>.</p><div class="language-sh vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">sh</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">npm</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> run</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> example</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> busy-409</span></span>
<span class="line"><span style="--shiki-light:#66707B;--shiki-dark:#BDC4CC;"># The first booking of a seat takes 2 s. A second one at the same time waits 500 ms, and is answered 409.</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -i</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> POST</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/seats/7/bookings</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> &amp; </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">sleep</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> 1</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">; </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -i</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> POST</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/seats/7/bookings</span></span></code></pre></div><p>With <code>BOOKINGS_PORT</code> it also answers <code>book</code> messages over TCP; the same filter gives them the code <code>LOCK_TIMEOUT</code>.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("examples/busy-409/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};

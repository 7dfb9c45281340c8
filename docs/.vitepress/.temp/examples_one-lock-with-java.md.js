import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"one-lock-with-java","description":"","frontmatter":{},"headers":[],"relativePath":"examples/one-lock-with-java.md","filePath":"examples/one-lock-with-java/README.md"}');
const _sfc_main = { name: "examples/one-lock-with-java.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="one-lock-with-java" tabindex="-1">one-lock-with-java <a class="header-anchor" href="#one-lock-with-java" aria-label="Permalink to &quot;one-lock-with-java&quot;">​</a></h1><p>A Nest service and a Java service with Redisson use one lock for each order. Guide: <a href="/nestjs-distributed-lock/coming-from/redisson#one-lock-with-java">One lock with Java</a>.</p><p>Needs a JDK, 17 or newer, and Maven, which fetches Redisson.</p><div class="language-sh vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">sh</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">npm</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> run</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> example</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> one-lock-with-java</span><span style="--shiki-light:#66707B;--shiki-dark:#BDC4CC;">   # Nest on port 3000, Java on port 3100</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -s</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> POST</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3100/orders/42/invoice</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> &amp; </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -s</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> POST</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/orders/42/shipment</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> &amp; </span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;">wait</span></span></code></pre></div><p>Each request works for a second. Together they take two seconds, since they wait for each other, and the later one has the larger token.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("examples/one-lock-with-java/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};

import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"microservice-tcp","description":"","frontmatter":{},"headers":[],"relativePath":"examples/microservice-tcp.md","filePath":"examples/microservice-tcp/README.md"}');
const _sfc_main = { name: "examples/microservice-tcp.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="microservice-tcp" tabindex="-1">microservice-tcp <a class="header-anchor" href="#microservice-tcp" aria-label="Permalink to &quot;microservice-tcp&quot;">​</a></h1><p>A message handler under <code>@Locked</code>, and an HTTP application that calls it and answers 409 when the lock is busy. Guide: <a href="/nestjs-distributed-lock/guides/transports#microservices">Microservices</a>.</p><div class="language-sh vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">sh</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">npm</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> run</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> example</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> microservice-tcp</span></span>
<span class="line"><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">curl</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -i</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -X</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> POST</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> localhost:3000/orders/pear</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -H</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;content-type: application/json&#39;</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> -d</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &#39;{&quot;quantity&quot;:3}&#39;</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("examples/microservice-tcp/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};

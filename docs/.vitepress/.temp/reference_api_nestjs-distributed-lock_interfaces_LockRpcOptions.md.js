import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: LockRpcOptions","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/interfaces/LockRpcOptions.md","filePath":"docs/reference/api/nestjs-distributed-lock/interfaces/LockRpcOptions.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/interfaces/LockRpcOptions.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-lockrpcoptions" tabindex="-1">Interface: LockRpcOptions <a class="header-anchor" href="#interface-lockrpcoptions" aria-label="Permalink to &quot;Interface: LockRpcOptions&quot;">​</a></h1><p>How lock errors are reported to callers of message handlers (RPC).</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="showkeys" tabindex="-1">showKeys? <a class="header-anchor" href="#showkeys" aria-label="Permalink to &quot;showKeys?&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly showKeys</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">?:</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> boolean;</span></span></code></pre></div><p>Whether callers receive the error&#39;s <code>keys</code> and its full message, which names the key and may name the holder. Set it to <code>false</code> if callers are not your own services: they then receive the <code>code</code> and a message without the key.</p><h4 id="default" tabindex="-1">Default <a class="header-anchor" href="#default" aria-label="Permalink to &quot;Default&quot;">​</a></h4><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;">true</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/interfaces/LockRpcOptions.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const LockRpcOptions = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  LockRpcOptions as default
};

import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: StoreConnection","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/store/interfaces/StoreConnection.md","filePath":"docs/reference/api/nestjs-distributed-lock/store/interfaces/StoreConnection.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/store/interfaces/StoreConnection.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-storeconnection" tabindex="-1">Interface: StoreConnection <a class="header-anchor" href="#interface-storeconnection" aria-label="Permalink to &quot;Interface: StoreConnection&quot;">​</a></h1><p>A connection of a store&#39;s session.</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="isopen" tabindex="-1">isOpen <a class="header-anchor" href="#isopen" aria-label="Permalink to &quot;isOpen&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">isOpen</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: boolean;</span></span></code></pre></div><hr><h3 id="name" tabindex="-1">name <a class="header-anchor" href="#name" aria-label="Permalink to &quot;name&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">name</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: string;</span></span></code></pre></div><p>Its purpose or its peer, such as <code>commands</code> or <code>10.0.0.5:6379</code>; no secrets.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/store/interfaces/StoreConnection.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const StoreConnection = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  StoreConnection as default
};

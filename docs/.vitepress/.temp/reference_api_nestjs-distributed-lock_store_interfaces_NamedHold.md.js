import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: NamedHold","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/store/interfaces/NamedHold.md","filePath":"docs/reference/api/nestjs-distributed-lock/store/interfaces/NamedHold.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/store/interfaces/NamedHold.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-namedhold" tabindex="-1">Interface: NamedHold <a class="header-anchor" href="#interface-namedhold" aria-label="Permalink to &quot;Interface: NamedHold&quot;">​</a></h1><p>Identifies a hold by its owner, its token, or both, as <code>inspect</code> returns them. Each given field has to match; at least one is given.</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="owner" tabindex="-1">owner? <a class="header-anchor" href="#owner" aria-label="Permalink to &quot;owner?&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly owner</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">?:</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> string;</span></span></code></pre></div><p>An owner is used for one acquisition, so a later hold of the same process has another one.</p><hr><h3 id="token" tabindex="-1">token? <a class="header-anchor" href="#token" aria-label="Permalink to &quot;token?&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly token</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">?:</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> number;</span></span></code></pre></div><p>As <code>inspect</code> or the handle returns it.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/store/interfaces/NamedHold.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const NamedHold = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  NamedHold as default
};

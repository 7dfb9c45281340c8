import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: ListedKeys","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/store/interfaces/ListedKeys.md","filePath":"docs/reference/api/nestjs-distributed-lock/store/interfaces/ListedKeys.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/store/interfaces/ListedKeys.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-listedkeys" tabindex="-1">Interface: ListedKeys <a class="header-anchor" href="#interface-listedkeys" aria-label="Permalink to &quot;Interface: ListedKeys&quot;">​</a></h1><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="cursor" tabindex="-1">cursor <a class="header-anchor" href="#cursor" aria-label="Permalink to &quot;cursor&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">cursor</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: string </span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">|</span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;"> undefined</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">;</span></span></code></pre></div><p>Undefined at the end of the list.</p><hr><h3 id="keys" tabindex="-1">keys <a class="header-anchor" href="#keys" aria-label="Permalink to &quot;keys&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">keys</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: readonly string[];</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/store/interfaces/ListedKeys.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const ListedKeys = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  ListedKeys as default
};

import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: LockHealthModuleExtras","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/health/interfaces/LockHealthModuleExtras.md","filePath":"docs/reference/api/nestjs-distributed-lock/health/interfaces/LockHealthModuleExtras.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/health/interfaces/LockHealthModuleExtras.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-lockhealthmoduleextras" tabindex="-1">Interface: LockHealthModuleExtras <a class="header-anchor" href="#interface-lockhealthmoduleextras" aria-label="Permalink to &quot;Interface: LockHealthModuleExtras&quot;">​</a></h1><p>Options that belong to the import of the module, not to the factory.</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="instance" tabindex="-1">instance? <a class="header-anchor" href="#instance" aria-label="Permalink to &quot;instance?&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly instance</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">?:</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> string;</span></span></code></pre></div><p>The <code>name</code> of the <code>DistributedLockModule</code> to report.</p><h4 id="default" tabindex="-1">Default <a class="header-anchor" href="#default" aria-label="Permalink to &quot;Default&quot;">​</a></h4><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">the unnamed </span><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;">module</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/health/interfaces/LockHealthModuleExtras.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const LockHealthModuleExtras = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  LockHealthModuleExtras as default
};

import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: LockBreakOptions","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/interfaces/LockBreakOptions.md","filePath":"docs/reference/api/nestjs-distributed-lock/interfaces/LockBreakOptions.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/interfaces/LockBreakOptions.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-lockbreakoptions" tabindex="-1">Interface: LockBreakOptions <a class="header-anchor" href="#interface-lockbreakoptions" aria-label="Permalink to &quot;Interface: LockBreakOptions&quot;">​</a></h1><p>Options of <code>LockAdmin.forceRelease</code> and <code>LockAdmin.breakHold</code>.</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="by" tabindex="-1">by? <a class="header-anchor" href="#by" aria-label="Permalink to &quot;by?&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly by</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">?:</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> string;</span></span></code></pre></div><p>Names the person who breaks the lock in the log and the <code>broken</code> event: 1 to 200 characters.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/interfaces/LockBreakOptions.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const LockBreakOptions = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  LockBreakOptions as default
};

import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: LockProcess","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/interfaces/LockProcess.md","filePath":"docs/reference/api/nestjs-distributed-lock/interfaces/LockProcess.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/interfaces/LockProcess.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-lockprocess" tabindex="-1">Interface: LockProcess <a class="header-anchor" href="#interface-lockprocess" aria-label="Permalink to &quot;Interface: LockProcess&quot;">​</a></h1><p>The process that holds a lock or waits for it.</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="host" tabindex="-1">host <a class="header-anchor" href="#host" aria-label="Permalink to &quot;host&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">host</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: string;</span></span></code></pre></div><p>Host name of the machine or container: letters, digits, <code>.</code>, <code>_</code> and <code>-</code>, up to 63 characters.</p><hr><h3 id="pid" tabindex="-1">pid <a class="header-anchor" href="#pid" aria-label="Permalink to &quot;pid&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">pid</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: number;</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/interfaces/LockProcess.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const LockProcess = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  LockProcess as default
};

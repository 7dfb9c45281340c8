import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: LockPermits","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/interfaces/LockPermits.md","filePath":"docs/reference/api/nestjs-distributed-lock/interfaces/LockPermits.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/interfaces/LockPermits.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-lockpermits" tabindex="-1">Interface: LockPermits <a class="header-anchor" href="#interface-lockpermits" aria-label="Permalink to &quot;Interface: LockPermits&quot;">​</a></h1><p>How the permits of a semaphore are used.</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="free" tabindex="-1">free <a class="header-anchor" href="#free" aria-label="Permalink to &quot;free&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">free</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: number;</span></span></code></pre></div><p>Waiters come first: a call can find the lock busy although permits are free.</p><hr><h3 id="held" tabindex="-1">held <a class="header-anchor" href="#held" aria-label="Permalink to &quot;held&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">held</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: number;</span></span></code></pre></div><p>The permits of all holds together.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/interfaces/LockPermits.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const LockPermits = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  LockPermits as default
};

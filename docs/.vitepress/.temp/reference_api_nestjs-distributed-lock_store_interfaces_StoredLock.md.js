import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: StoredLock","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/store/interfaces/StoredLock.md","filePath":"docs/reference/api/nestjs-distributed-lock/store/interfaces/StoredLock.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/store/interfaces/StoredLock.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-storedlock" tabindex="-1">Interface: StoredLock <a class="header-anchor" href="#interface-storedlock" aria-label="Permalink to &quot;Interface: StoredLock&quot;">​</a></h1><p>A held lock as the store knows it.</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="holders" tabindex="-1">holders <a class="header-anchor" href="#holders" aria-label="Permalink to &quot;holders&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">holders</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: readonly StoredHold[];</span></span></code></pre></div><p>Oldest first.</p><hr><h3 id="limit" tabindex="-1">limit <a class="header-anchor" href="#limit" aria-label="Permalink to &quot;limit&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">limit</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: number;</span></span></code></pre></div><p>The limit of its holders: see <a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/store/interfaces/AcquireRequest#limit">AcquireRequest.limit</a>.</p><hr><h3 id="waiters" tabindex="-1">waiters <a class="header-anchor" href="#waiters" aria-label="Permalink to &quot;waiters&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">waiters</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: readonly StoredWaiter[];</span></span></code></pre></div><p>In the order in which they will be served.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/store/interfaces/StoredLock.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const StoredLock = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  StoredLock as default
};

import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Type Alias: LockEvent","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/type-aliases/LockEvent.md","filePath":"docs/reference/api/nestjs-distributed-lock/type-aliases/LockEvent.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/type-aliases/LockEvent.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="type-alias-lockevent" tabindex="-1">Type Alias: LockEvent <a class="header-anchor" href="#type-alias-lockevent" aria-label="Permalink to &quot;Type Alias: LockEvent&quot;">​</a></h1><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">type</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockEvent</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;"> =</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> </span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockGrantedEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockQueuedEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockTimeoutEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockSkippedEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockAbortedEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockClosedEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockQueueFullEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockRenewedEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockRenewalFailedEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockLostEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockReleasedEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockBrokenEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockUnavailableEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> StoreUnavailableEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> StoreAvailableEvent</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockLocalEvent</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">;</span></span></code></pre></div><p>An event of a lock or of the store, in order, from <code>LockService.events</code>. Contains no secrets.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/type-aliases/LockEvent.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const LockEvent = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  LockEvent as default
};

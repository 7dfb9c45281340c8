import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Type Alias: RevocationReason","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/leader/type-aliases/RevocationReason.md","filePath":"docs/reference/api/nestjs-distributed-lock/leader/type-aliases/RevocationReason.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/leader/type-aliases/RevocationReason.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="type-alias-revocationreason" tabindex="-1">Type Alias: RevocationReason <a class="header-anchor" href="#type-alias-revocationreason" aria-label="Permalink to &quot;Type Alias: RevocationReason&quot;">​</a></h1><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">type</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> RevocationReason</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;"> =</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> </span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;"> LockLostReason</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &quot;resigned&quot;</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &quot;closed&quot;</span></span>
<span class="line"><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">  |</span><span style="--shiki-light:#032563;--shiki-dark:#ADDCFF;"> &quot;failed&quot;</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">;</span></span></code></pre></div><p>Why leadership ended. <code>resigned</code>: <code>resign()</code> was called. <code>closed</code>: the application shuts down. The others are the reasons of a lost lock: <code>expired</code>, its lease was not renewed in time; <code>taken</code>, an operator broke the lock; <code>unreachable</code>, the store was unreachable until the lease ended. <code>failed</code>: a method under <code>@OnElected</code> threw.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/leader/type-aliases/RevocationReason.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const RevocationReason = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  RevocationReason as default
};

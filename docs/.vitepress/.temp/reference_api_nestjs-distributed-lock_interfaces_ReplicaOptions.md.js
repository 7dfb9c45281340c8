import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: ReplicaOptions","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/interfaces/ReplicaOptions.md","filePath":"docs/reference/api/nestjs-distributed-lock/interfaces/ReplicaOptions.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/interfaces/ReplicaOptions.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-replicaoptions" tabindex="-1">Interface: ReplicaOptions <a class="header-anchor" href="#interface-replicaoptions" aria-label="Permalink to &quot;Interface: ReplicaOptions&quot;">​</a></h1><p>How many replicas must have a grant before it counts.</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="min" tabindex="-1">min <a class="header-anchor" href="#min" aria-label="Permalink to &quot;min&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">min</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: number;</span></span></code></pre></div><p>At least this many, from 1 to 100.</p><hr><h3 id="timeout" tabindex="-1">timeout? <a class="header-anchor" href="#timeout" aria-label="Permalink to &quot;timeout?&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly timeout</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">?:</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> number;</span></span></code></pre></div><p>How long to wait for them, ms: from 1 to a twelfth of <code>watchdogTimeout</code>, at most 1 000. The connection carries no other request meanwhile.</p><h4 id="default" tabindex="-1">Default <a class="header-anchor" href="#default" aria-label="Permalink to &quot;Default&quot;">​</a></h4><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#023B95;--shiki-dark:#91CBFF;">500</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">, or the upper bound </span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">if</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> that is less</span></span></code></pre></div></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/interfaces/ReplicaOptions.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const ReplicaOptions = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  ReplicaOptions as default
};

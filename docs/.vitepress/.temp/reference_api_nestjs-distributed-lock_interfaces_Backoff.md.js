import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: Backoff","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/interfaces/Backoff.md","filePath":"docs/reference/api/nestjs-distributed-lock/interfaces/Backoff.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/interfaces/Backoff.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-backoff" tabindex="-1">Interface: Backoff <a class="header-anchor" href="#interface-backoff" aria-label="Permalink to &quot;Interface: Backoff&quot;">​</a></h1><p>The pauses of a call with <code>retry</code> between its attempts. Created by <a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/variables/backoff">backoff</a>.</p><h2 id="methods" tabindex="-1">Methods <a class="header-anchor" href="#methods" aria-label="Permalink to &quot;Methods&quot;">​</a></h2><h3 id="pauseafter" tabindex="-1">pauseAfter() <a class="header-anchor" href="#pauseafter" aria-label="Permalink to &quot;pauseAfter()&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#622CBC;--shiki-dark:#DBB7FF;">pauseAfter</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">(tries, random</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">?</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">)</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">:</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> number;</span></span></code></pre></div><p>The pause after an attempt (from 1), ms: <code>min</code>, doubled with every further attempt, at most <code>max</code>. Part of it is random, so that callers that collided once do not collide again: 0.5 is the &quot;equal jitter&quot;, 1 the &quot;full jitter&quot; of <a href="https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/" target="_blank" rel="noreferrer">https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/</a>. Unlike there, no pause is shorter than <code>min</code>; the random part is then added to it.</p><h4 id="parameters" tabindex="-1">Parameters <a class="header-anchor" href="#parameters" aria-label="Permalink to &quot;Parameters&quot;">​</a></h4><table tabindex="0"><thead><tr><th>Parameter</th><th>Type</th><th>Default value</th></tr></thead><tbody><tr><td><code>tries</code></td><td><code>number</code></td><td><code>undefined</code></td></tr><tr><td><code>random?</code></td><td>() =&gt; <code>number</code></td><td><code>Math.random</code></td></tr></tbody></table><h4 id="returns" tabindex="-1">Returns <a class="header-anchor" href="#returns" aria-label="Permalink to &quot;Returns&quot;">​</a></h4><p><code>number</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/interfaces/Backoff.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const Backoff = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  Backoff as default
};

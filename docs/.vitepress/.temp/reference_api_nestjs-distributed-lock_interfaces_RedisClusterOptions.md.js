import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Interface: RedisClusterOptions","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/interfaces/RedisClusterOptions.md","filePath":"docs/reference/api/nestjs-distributed-lock/interfaces/RedisClusterOptions.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/interfaces/RedisClusterOptions.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="interface-redisclusteroptions" tabindex="-1">Interface: RedisClusterOptions <a class="header-anchor" href="#interface-redisclusteroptions" aria-label="Permalink to &quot;Interface: RedisClusterOptions&quot;">​</a></h1><p>A Redis Cluster: some of its nodes, and the options of ioredis for a cluster.</p><h2 id="properties" tabindex="-1">Properties <a class="header-anchor" href="#properties" aria-label="Permalink to &quot;Properties&quot;">​</a></h2><h3 id="nodes" tabindex="-1">nodes <a class="header-anchor" href="#nodes" aria-label="Permalink to &quot;nodes&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly </span><span style="--shiki-light:#702C00;--shiki-dark:#FFB757;">nodes</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">: readonly ClusterNode[];</span></span></code></pre></div><p>URLs, or host and port, of at least one node. The client discovers the others.</p><hr><h3 id="options" tabindex="-1">options? <a class="header-anchor" href="#options" aria-label="Permalink to &quot;options?&quot;">​</a></h3><div class="language-ts vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span class="lang">ts</span><pre class="shiki shiki-themes github-light-high-contrast github-dark-high-contrast vp-code" tabindex="0"><code><span class="line"><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;">readonly options</span><span style="--shiki-light:#A0111F;--shiki-dark:#FF9492;">?:</span><span style="--shiki-light:#0E1116;--shiki-dark:#F0F3F6;"> ClusterOptionsWithCredentials;</span></span></code></pre></div><p>Options of ioredis. User, password and TLS of the nodes go into its <code>redisOptions</code>.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/interfaces/RedisClusterOptions.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const RedisClusterOptions = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  RedisClusterOptions as default
};

import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"nestjs-distributed-lock/redisson","description":"","frontmatter":{"editLink":false,"prev":false,"next":false},"headers":[],"relativePath":"reference/api/nestjs-distributed-lock/redisson/index.md","filePath":"docs/reference/api/nestjs-distributed-lock/redisson/README.md"}');
const _sfc_main = { name: "reference/api/nestjs-distributed-lock/redisson/index.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="nestjs-distributed-lockredisson" tabindex="-1">nestjs-distributed-lock/redisson <a class="header-anchor" href="#nestjs-distributed-lockredisson" aria-label="Permalink to &quot;nestjs-distributed-lock/redisson&quot;">​</a></h1><h2 id="interfaces" tabindex="-1">Interfaces <a class="header-anchor" href="#interfaces" aria-label="Permalink to &quot;Interfaces&quot;">​</a></h2><ul><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/redisson/interfaces/RedissonStoreOptions">RedissonStoreOptions</a></li></ul><h2 id="functions" tabindex="-1">Functions <a class="header-anchor" href="#functions" aria-label="Permalink to &quot;Functions&quot;">​</a></h2><ul><li><a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/redisson/functions/redissonStore">redissonStore</a></li></ul><h2 id="references" tabindex="-1">References <a class="header-anchor" href="#references" aria-label="Permalink to &quot;References&quot;">​</a></h2><h3 id="lockstore" tabindex="-1">LockStore <a class="header-anchor" href="#lockstore" aria-label="Permalink to &quot;LockStore&quot;">​</a></h3><p>Re-exports <a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/store/interfaces/LockStore">LockStore</a></p><hr><h3 id="redisconnection" tabindex="-1">RedisConnection <a class="header-anchor" href="#redisconnection" aria-label="Permalink to &quot;RedisConnection&quot;">​</a></h3><p>Re-exports <a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/type-aliases/RedisConnection">RedisConnection</a></p><hr><h3 id="replicaoptions" tabindex="-1">ReplicaOptions <a class="header-anchor" href="#replicaoptions" aria-label="Permalink to &quot;ReplicaOptions&quot;">​</a></h3><p>Re-exports <a href="/nestjs-distributed-lock/reference/api/nestjs-distributed-lock/interfaces/ReplicaOptions">ReplicaOptions</a></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/reference/api/nestjs-distributed-lock/redisson/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};

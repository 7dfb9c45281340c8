import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"Troubleshooting","description":"","frontmatter":{},"headers":[],"relativePath":"operations/troubleshooting/index.md","filePath":"docs/operations/troubleshooting/README.md"}');
const _sfc_main = { name: "operations/troubleshooting/index.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="troubleshooting" tabindex="-1">Troubleshooting <a class="header-anchor" href="#troubleshooting" aria-label="Permalink to &quot;Troubleshooting&quot;">​</a></h1><p>These pages have the messages that need more than their own text. <code>…</code> stands for the parts that differ. In an incident, follow the <a href="/nestjs-distributed-lock/operations/runbook">runbook</a>.</p><table tabindex="0"><thead><tr><th>the message says</th><th>page</th></tr></thead><tbody><tr><td><code>held by another caller</code>, <code>held by this process</code>, <code>was requested with …</code></td><td><a href="/nestjs-distributed-lock/operations/troubleshooting/locks#a-lock-was-not-acquired">a lock was not acquired</a></td></tr><tr><td><code>The lock &quot;…&quot; was lost: …</code>, <code>may have expired</code>, <code>has been held for …</code></td><td><a href="/nestjs-distributed-lock/operations/troubleshooting/locks#a-lock-was-lost">a lock was lost</a></td></tr><tr><td><code>The request for the lock … failed …</code>, <code>is not connected</code>, <code>Locks can&#39;t be acquired</code>, Redis, <code>replicas</code>, a quorum</td><td><a href="/nestjs-distributed-lock/operations/troubleshooting/store">the store could not be used</a></td></tr><tr><td><code>PostgreSQL …</code>, <code>etcd …</code>, <code>ZooKeeper …</code></td><td><a href="/nestjs-distributed-lock/operations/troubleshooting/other-stores">PostgreSQL, etcd and ZooKeeper</a></td></tr><tr><td><code>DistributedLockModule …</code>, <code>@Locked on …</code>, <code>Nest can&#39;t resolve dependencies …</code>, an option, the compiler, a listener, <code>SIGTERM</code></td><td><a href="/nestjs-distributed-lock/operations/troubleshooting/module">the module and its options</a></td></tr><tr><td>none: two holders work at once, or <code>@Locked</code> does nothing</td><td><a href="/nestjs-distributed-lock/operations/troubleshooting/locks#two-holders-at-once-or-locked-does-nothing">start here</a></td></tr></tbody></table></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("docs/operations/troubleshooting/README.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const README = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  README as default
};

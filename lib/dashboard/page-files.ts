import { createHash } from 'node:crypto';
import { pageScript, pageStyle } from './page.generated.js';

interface PageFile {
  readonly type: string;
  readonly text: string;
  /** Whether browsers may cache it forever. */
  readonly isImmutable: boolean;
}

/** Part of the addresses, so that a new version of the files gets new addresses. */
const version = createHash('sha256').update(pageScript).update(pageStyle).digest('base64url').slice(0, 12);

/** Addresses are queries of the page's own path, so they work with any prefix, version and proxy, and a trailing slash. */
const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Locks</title>
<link rel="stylesheet" href="?file=page.css&amp;v=${version}">
<script type="module" src="?file=page.js&amp;v=${version}"></script>
</head>
<body>
<div id="page"><noscript>This page needs JavaScript.</noscript></div>
</body>
</html>
`;

const files: Readonly<Record<string, PageFile>> = {
  '': { type: 'text/html; charset=utf-8', text: html, isImmutable: false },
  'page.js': { type: 'text/javascript; charset=utf-8', text: pageScript, isImmutable: true },
  'page.css': { type: 'text/css; charset=utf-8', text: pageStyle, isImmutable: true },
};

/** @param name empty for the page itself */
export function pageFile(name: string): PageFile | undefined {
  return Object.hasOwn(files, name) ? files[name] : undefined;
}

/** For all responses: the page loads nothing from other origins, and no other site can embed or read it. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

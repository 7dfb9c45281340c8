import { html, render } from 'htm/preact';
import { App } from './app.js';

const place = document.getElementById('page');
if (place !== null) {
  place.textContent = '';
  render(html`<${App} />`, place);
}

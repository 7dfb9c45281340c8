// The fonts of the system: none are loaded.
import DefaultTheme from 'vitepress/theme-without-fonts';
import Layout from './Layout.vue';
import './style.css';

export default { extends: DefaultTheme, Layout };

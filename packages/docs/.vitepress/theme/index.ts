import type { Theme } from 'vitepress';
import theme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import FirstLink from './first-link.vue';
import LiveExample from './live-example.vue';
import './style.css';

export default {
  extends: theme,
  Layout: () => h(theme.Layout, null, { 'home-hero-after': () => h(FirstLink) }),
  enhanceApp({ app }) {
    app.component('LiveExample', LiveExample);
  },
} satisfies Theme;

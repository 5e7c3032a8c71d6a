import theme from 'vitepress/theme'
import './contrast.css'

// biome-ignore lint/style/noDefaultExport: VitePress reads the default export.
export default theme

import { render } from 'preact'
import { startSession } from './api/session.ts'
import { App } from './app.tsx'
import { applyTheme } from './theme/theme.ts'
import './theme/tokens.css'
import './theme/base.css'
import './components/components.css'
import './components/shell/shell.css'

applyTheme()
startSession()
const root = document.getElementById('app')
if (root) render(<App />, root)

prelude
import Init.Theory

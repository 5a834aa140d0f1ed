# Writes mgcv.json: models of Debian's r-cran-mgcv 1.8-41 at fixed smoothing parameters: two P-splines
# and a random effect, with the data as columns of texts, the knots' ranges, the linear predictions for
# the rows and for new ones, also outside of the ranges, and the effective degrees of freedom.
#
#   Rscript mgcv.R > mgcv.json
suppressMessages(library(mgcv))
set.seed(41)
numbers <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ","), "]")
n <- 90
x <- round(runif(n, -3, 5), 4)
v <- round(1e6 * runif(n), 1)
g <- sample(letters[1:6], n, replace = TRUE)
eta <- sin(x) + v / 1e6 + (match(g, letters) - 3) / 4
w <- round(runif(n, .5, 2), 3)
new <- data.frame(x = c(-5, 0, 2, 9), v = c(5e5, -2e5, 1.3e6, 3e5), g = factor(c("a", "c", "f", "b"), levels = levels(factor(g))))
# The knots that mgcv takes: .1 % beyond the data.
range <- function(u) c(min(u), max(u)) + c(-1, 1) * .001 * (max(u) - min(u))
case <- function(loss, family, y, lambda) {
  # scale = 1 and this REML make gam minimise the deviance plus the penalties, as they are.
  m <- gam(y ~ s(x, bs = "ps", k = 10) + s(v, bs = "ps", k = 7) + s(g, bs = "re"), family = family, weights = w,
    data = data.frame(x, v, g = factor(g), y, w), sp = lambda, scale = 1, method = "REML",
    control = gam.control(epsilon = 1e-13, scalePenalty = FALSE))
  edf <- sapply(m$smooth, function(s) sum(m$edf[s$first.para:s$last.para]))
  paste0('{"Loss":', loss, ',"X":', numbers(x), ',"V":', numbers(v), ',"G":["', paste(g, collapse = '","'), '"],"Y":', numbers(y),
    ',"Weights":', numbers(w), ',"Lambda":', numbers(lambda), ',"RangeX":', numbers(range(x)), ',"RangeV":', numbers(range(v)),
    ',"Eta":', numbers(predict(m)), ',"NewX":', numbers(new$x), ',"NewV":', numbers(new$v), ',"NewG":["', paste(new$g, collapse = '","'),
    '"],"NewEta":', numbers(predict(m, new)), ',"Freedom":', numbers(edf), "}")
}
cat("[", case(0, gaussian(), round(eta + rnorm(n) / 3, 6), c(.7, 3, 2)), ",\n",
  case(1, binomial(), as.numeric(runif(n) < plogis(2 * eta - 1)), c(.2, 1, .5)), ",\n",
  case(2, poisson(), as.numeric(rpois(n, exp(eta))), c(.5, 2, 3)), "]\n", sep = "")

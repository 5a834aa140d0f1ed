# Writes mgcv.json: models of Debian's r-cran-mgcv 1.8-41 at fixed smoothing parameters, with
# their data, penalties, coefficients and neighbourhood cross-validation (NCV) score.
#
#   Rscript mgcv.R > mgcv.json
suppressMessages(library(mgcv))
set.seed(40)
numbers <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ","), "]")
rows <- function(m) paste0("[", paste(apply(m, 1, numbers), collapse = ","), "]")
n <- 60
x <- round(runif(n), 6)
v <- round(runif(n), 6)
eta <- sin(6 * x) + v
folds <- rep(1:6, length.out = n)
case <- function(loss, family, y, w, lambda) {
  # scale = 1 and this REML make gam minimise the deviance plus the penalties, as they are.
  g <- gam(y ~ s(x, bs = "ps", k = 8) + s(v, bs = "ps", k = 7), family = family, weights = w,
    sp = lambda, scale = 1, method = "REML", control = gam.control(epsilon = 1e-13, scalePenalty = FALSE))
  X <- predict(g, type = "lpmatrix")
  S <- lapply(g$smooth, function(s) s$S[[1]])
  first <- sapply(g$smooth, function(s) s$first.para - 2)
  # Each fold is left out of its own fit. For losses other than the squared one, mgcv takes one Newton
  # step from the fit to all rows.
  nei <- list(k = order(folds), m = cumsum(table(folds)), i = order(folds), mi = cumsum(table(folds)))
  f <- gam(y ~ s(x, bs = "ps", k = 8) + s(v, bs = "ps", k = 7), family = family, weights = w, sp = lambda, method = "NCV",
    nei = nei, control = gam.control(epsilon = 1e-13, scalePenalty = FALSE))
  ncv <- sprintf("%.17g", f$gcv.ubre)
  paste0('{"Loss":', loss, ',"X":', rows(X[, -1]), ',"Y":', numbers(y), ',"Weights":', numbers(w), ',"Lambda":', numbers(lambda),
    ',"First":', numbers(first), ',"S":[', paste(sapply(S, rows), collapse = ","), '],"Theta":', numbers(c(coef(g)[-1], coef(g)[1])),
    ',"Folds":', numbers(folds - 1), ',"NCV":', ncv, "}")
}
w <- round(runif(n, .5, 2), 3)
cat("[", case(0, gaussian(), round(eta + rnorm(n) / 3, 6), w, c(.7, 3)), ",\n",
  case(1, binomial(), as.numeric(runif(n) < plogis(2 * eta - 1)), rep(1, n), c(.2, 1)), ",\n",
  case(2, poisson(), as.numeric(rpois(n, exp(eta))), w, c(.5, 2)), "]\n", sep = "")
